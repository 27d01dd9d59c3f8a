/** Removes a Markdown code fence around the whole text, and surrounding blanks. */
export function stripCodeFence(text: string): string {
  const trimmed = text.trim();
  const opening = /^```[\w-]*[^\S\n]*\n/.exec(trimmed);
  if (!opening) return trimmed;
  const inside = trimmed.slice(opening[0].length);
  // A truncated answer has no closing fence.
  return inside.replace(/\n?```$/, '').trim();
}
