/** Inner XML of every element of this name, in order. Elements that contain elements of their own name are not supported. */
export function findElements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, inner = '']) => inner,
  );
}

/** Text of the first element of this name. */
export function findText(xml: string, name: string): string | undefined {
  return findElements(xml, name)[0]?.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, decodeEntity);
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const entities: Partial<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntity(whole: string, decimal?: string, hex?: string, name = ''): string {
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : (entities[name] ?? whole);
}
