/** Piece of a comparison of two texts. */
export interface DiffPart {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** Words beyond which texts are not compared: the work grows with the product. */
const maxWords = 2_000;

/** Words that differ between two texts, by their longest common subsequence; null if the texts are too long. */
export function diffWords(before: string, after: string): DiffPart[] | null {
  const [a, b] = [wordsOf(before), wordsOf(after)];
  if (a.length > maxWords || b.length > maxWords) return null;
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const parts: DiffPart[] = [];
  const add = (kind: DiffPart['kind'], text: string) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add('same', a[i++]!);
      j++;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      add('removed', a[i++]!);
    else add('added', b[j++]!);
  }
  return parts;
}

/** Words with the white space after them. */
function wordsOf(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}
