/** How many more than its slots a server is given, so that the next request is there when an answer leaves. */
export const headroom = 9 / 8;

/** A request more for every eighth slot, rounded up. */
export function withHeadroom(slots: number): number {
  return slots + Math.ceil(slots / 8);
}
