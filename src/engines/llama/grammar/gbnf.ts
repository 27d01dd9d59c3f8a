import { type Alternative, type CharElement, type Grammar, isChar } from './grammar.ts';

/** Prints the rules reachable from the root in llama.cpp's grammar notation. */
export function toGbnf(grammar: Grammar): string {
  const lines = [`root ::= r${grammar.root}`];
  for (const index of reachable(grammar)) {
    lines.push(`r${index} ::= ${grammar.rules[index]!.map(printAlternative).join(' | ')}`);
  }
  return `${lines.join('\n')}\n`;
}

function reachable(grammar: Grammar): Set<number> {
  const found = new Set([grammar.root]);
  for (const index of found) {
    for (const element of grammar.rules[index]!.flat()) if (!isChar(element)) found.add(element.rule);
  }
  return found;
}

/** Neighbouring single characters become one string, which keeps long property names readable and quick to parse. */
function printAlternative(alternative: Alternative): string {
  const parts: string[] = [];
  let quoted = '';
  const flush = (): void => {
    if (quoted !== '') parts.push(`"${quoted}"`);
    quoted = '';
  };
  for (const element of alternative) {
    const single = isChar(element) ? onlyCharacter(element) : undefined;
    if (single !== undefined) {
      quoted += escape(single);
      continue;
    }
    flush();
    parts.push(isChar(element) ? printClass(element) : `r${element.rule}`);
  }
  flush();
  return parts.length === 0 ? '""' : parts.join(' ');
}

function onlyCharacter({ ranges }: CharElement): number | undefined {
  const [first, ...rest] = ranges;
  return first && rest.length === 0 && first[0] === first[1] ? first[0] : undefined;
}

function printClass({ ranges }: CharElement): string {
  return `[${ranges.map(([low, high]) => (low === high ? escape(low) : `${escape(low)}-${escape(high)}`)).join('')}]`;
}

function escape(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (/^[0-9A-Za-z]$/.test(character)) return character;
  const hex = codePoint.toString(16).toUpperCase();
  if (codePoint < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return codePoint < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
