/** Repairs of an answer, for the log. */
export interface Repairs {
  add: (repair: 'usage estimated' | 'text was not Unicode' | 'finish reason is unknown') => unknown;
}

/** `text` without lone surrogates, which UTF-8 cannot carry (F31). */
export function unicode(text: string, repairs: Repairs): string {
  if (text.isWellFormed()) return text;
  repairs.add('text was not Unicode');
  return text.toWellFormed();
}
