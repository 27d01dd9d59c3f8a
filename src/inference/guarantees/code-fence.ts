/** A text without blanks around it and without the marks of a Markdown code block around the whole of it. */
export function stripCodeFence(text: string): string {
  const trimmed = text.trim();
  const opening = /^```[\w-]*[^\S\n]*\n/.exec(trimmed);
  if (!opening) return trimmed;
  const inside = trimmed.slice(opening[0].length);
  // The closing marks are missing where the answer was cut.
  return inside.replace(/\n?```$/, '').trim();
}
