import { SystemPlacementError } from '../connection/system-refusal.ts';
import { type SystemPlace, systemPlaces } from './move-system-messages.ts';

export type SystemPlacement = ReturnType<typeof createSystemPlacement>;

/** Text of a request with its system messages where a server takes them. */
type TextAt = (place: SystemPlace) => string;

/**
 * Learns where one server takes system messages: anywhere, until it refuses a conversation and accepts the same one with
 * fewer places. Without a refusal none is moved, because that would cost the server's prompt cache.
 * @param onLearned called when the server refused one place and accepted another
 */
export function createSystemPlacement(onLearned: (place: SystemPlace) => void) {
  let learned: SystemPlace = 'anywhere';

  return {
    get place() {
      return learned;
    },

    /** Sends a request, again for each place that the server refuses. @param send rejects with SystemPlacementError then */
    async send<T>(textAt: TextAt, send: (body: Buffer) => Promise<T>): Promise<T> {
      let place = learned;
      let body = Buffer.from(textAt(place));
      for (;;) {
        try {
          const answer = await send(body);
          if (place !== learned) onLearned((learned = place));
          return answer;
        } catch (error) {
          const next = error instanceof SystemPlacementError && fewerPlaces(textAt, body, place, error);
          if (!next) throw error;
          ({ body, place } = next);
        }
      }
    },
  };
}

/** The request with system messages in fewer places than refused; undefined where no such text differs. */
function fewerPlaces(
  textAt: TextAt,
  refused: Buffer,
  refusedPlace: SystemPlace,
  { everywhere }: SystemPlacementError,
): { body: Buffer<ArrayBuffer>; place: SystemPlace } | undefined {
  const later = systemPlaces.slice(systemPlaces.indexOf(refusedPlace) + 1);
  for (const place of everywhere ? later.slice(-1) : later) {
    const body = Buffer.from(textAt(place));
    if (!body.equals(refused)) return { body, place };
  }
  return undefined;
}
