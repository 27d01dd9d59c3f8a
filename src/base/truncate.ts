/**
 * First `limit` UTF-16 units of a text, or one fewer to keep a surrogate pair whole: strict JSON readers reject half a pair.
 * @param mark appended to a shortened text, such as an ellipsis
 */
export function truncate(text: string, limit: number, mark = ''): string {
  if (text.length <= limit) return text;
  const splitsPair = isHigh(text.charCodeAt(limit - 1)) && isLow(text.charCodeAt(limit));
  return text.slice(0, splitsPair ? limit - 1 : limit) + mark;
}

const isHigh = (unit: number) => unit >= 0xd8_00 && unit <= 0xdb_ff;
const isLow = (unit: number) => unit >= 0xdc_00 && unit <= 0xdf_ff;
