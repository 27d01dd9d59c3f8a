import { type Alternative, type Element, type Grammar, isChar } from './grammar.ts';

/** Prints the reachable rules in GBNF, the grammar notation of llama.cpp. */
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

function printAlternative(alternative: Alternative): string {
  return alternative.map(printElement).join(' ') || '""';
}

function printElement(element: Element): string {
  if (!isChar(element)) return `r${element.rule}`;
  const ranges = element.ranges.map(([low, high]) =>
    low === high ? escape(low) : `${escape(low)}-${escape(high)}`,
  );
  return `[${ranges.join('')}]`;
}

function escape(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (/^[0-9A-Za-z]$/.test(character)) return character;
  const hex = codePoint.toString(16).toUpperCase();
  if (codePoint < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return codePoint < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
