/** Union of the words of a text. */
export type Words<S extends string> = S extends `${infer First} ${infer Rest}` ? First | Words<Rest> : S;

export function words<const S extends string>(text: S): Words<S>[] {
  return text.split(' ') as Words<S>[];
}

/** Count with its noun: `1 request`, `2 requests`, `2 batches`. */
export function pluralize(count: number, noun: string): string {
  const ending = count === 1 ? '' : /(?:s|ch)$/.test(noun) ? 'es' : 's';
  return `${count} ${noun}${ending}`;
}
