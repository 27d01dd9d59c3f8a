/** Length of the longest end of `text` that one of `markers` begins with. */
export function possibleStart(text: string, markers: readonly string[]): number {
  let longest = 0;
  for (const marker of markers) {
    for (let length = Math.min(marker.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(marker.slice(0, length))) longest = length;
    }
  }
  return longest;
}
