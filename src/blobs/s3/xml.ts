/** The inner XML of every element of this name, in order: stores say little, and nothing of it nests in itself. */
export function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, inner = '']) => inner,
  );
}

/** The text of the first element of this name. */
export function textOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0]?.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, plain);
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const entities: Partial<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function plain(whole: string, decimal?: string, hex?: string, name = ''): string {
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : (entities[name] ?? whole);
}
