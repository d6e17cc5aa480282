// The data: base64 of deflated JSON in the page itself.

export async function loadData() {
  const text = document.getElementById("data").textContent;
  const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
