// Unpacks the Chromium of the npm package @sparticuz/chromium:  node unpack_browser.mjs FROM TO

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { brotliDecompressSync } from "node:zlib";

const ARCHIVES = ["al2023", "fonts", "swiftshader"]; // libraries, fonts, drawing without a GPU

const [from, to] = process.argv.slice(2);
const unpacked = (name) => brotliDecompressSync(readFileSync(join(from, name)));
rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
for (const name of ARCHIVES) {
  const { status, stderr } = spawnSync("tar", ["-x", "-C", to], { input: unpacked(`${name}.tar.br`) });
  if (status !== 0) throw new Error(`${name}: ${stderr}`);
}
const fonts = [join(to, "fonts"), "/usr/share/fonts"].map((folder) => `<dir>${folder}</dir>`);
writeFileSync(join(to, "fonts.conf"), `<fontconfig>${fonts.join("")}<cachedir>${join(to, "cache")}</cachedir></fontconfig>\n`);
// Last, so that the program is there only if all it needs is.
const program = join(to, "chromium");
writeFileSync(`${program}.new`, unpacked("chromium.br"));
chmodSync(`${program}.new`, 0o755);
renameSync(`${program}.new`, program);
