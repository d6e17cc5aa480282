// Light, dark, or what the system has.

import { remember, remembered } from "./state.js";

const THEMES = ["auto", "light", "dark"];

export function applyTheme(name = remembered("theme", "auto")) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  return name;
}

export function nextTheme() {
  const current = document.documentElement.dataset.theme ?? "auto";
  const name = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length];
  remember("theme", name);
  return applyTheme(name);
}
