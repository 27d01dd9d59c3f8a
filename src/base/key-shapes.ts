/**
 * What keys look like, ours and those of the services that people use: the start that makes them found in a leak. Our ids
 * (`key_...`) are none. A plain word behind "bearer" is a sentence.
 */
const shapes = [
  String.raw`\b(?:sk|gsk|xai|nvapi)-[\w-]{8,}`,
  String.raw`\b(?:hf|gsk|sk|pk|rk)_[A-Za-z0-9_]{8,}`,
  String.raw`\bAIza[\w-]{20,}`,
  String.raw`\bwhsec_[\w+/=-]{8,}`,
  String.raw`(?<=\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC)(?:\s|%20)+)(?![a-z]+[.,:;)]?(?:[\s"'\\]|$))[\w.~+/=-]{8,}`,
].join('|');

/** Stands in each of them, and is looked for in a tenth of the time. */
const mark = 'sk[-_]|xai-|nvapi-|[hpr][fk]_|AIza|whsec_|earer|EARER|asic|ASIC';

const removed = '[removed]';

/**
 * Takes keys out of text. Where there is none, which is nearly always, it costs next to nothing.
 * @param literals secrets that are known, whatever they look like
 */
export function createKeyScrubber(literals: readonly string[] = []): (text: string) => string {
  const known = literals
    .filter((literal) => literal !== '')
    .toSorted((a, b) => b.length - a.length)
    .map((literal) => literal.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
  const marks = new RegExp([mark, ...known].join('|'));
  const all = new RegExp([...known, shapes].join('|'), 'g');
  return (text) => (marks.test(text) ? text.replace(all, removed) : text);
}
