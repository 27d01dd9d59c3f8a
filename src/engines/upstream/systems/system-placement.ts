import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { editMembers } from '../../../wire/json/edit-members.ts';
import { moveSystems, type SystemPlace, systemPlaces } from './move-system-messages.ts';
import { SystemPlacementError } from '../connection/system-refusal.ts';

export type SystemPlacement = ReturnType<typeof createSystemPlacement>;

/**
 * Where one server takes system messages: anywhere, until it refuses a conversation and takes the same one with fewer of them.
 * Without a refusal none is moved, because that costs the server the prefix that it has cached.
 * @param onFound called when the server has refused a place and taken another
 */
export function createSystemPlacement(onFound: (place: SystemPlace) => void) {
  let known: SystemPlace = 'anywhere';

  function found(place: SystemPlace): void {
    if (place === known) return;
    known = place;
    onFound(place);
  }

  return {
    /** The text of a request as the server takes it. */
    placed: (text: string): string => textAt(text, known),

    /**
     * Asks with a request, and once more for each place that the server refuses.
     * @param ask rejects with SystemPlaceError for such a refusal
     */
    async asking<T>(body: Buffer, ask: (body: Buffer) => Promise<T>): Promise<T> {
      let place = known;
      let sent = place === 'anywhere' ? body : Buffer.from(textAt(body.toString(), place));
      for (;;) {
        try {
          const answer = await ask(sent);
          found(place);
          return answer;
        } catch (error) {
          const next = error instanceof SystemPlacementError && fewer(body.toString(), sent, place, error);
          if (!next) throw error;
          ({ sent, place } = next);
        }
      }
    },
  };
}

/** The request with system messages in fewer places than it was sent with; undefined where there is no such. */
function fewer(
  text: string,
  sent: Buffer,
  refused: SystemPlace,
  { everywhere }: SystemPlacementError,
): { sent: Buffer; place: SystemPlace } | undefined {
  const left = everywhere ? (['nowhere'] as const) : systemPlaces;
  for (const place of left) {
    if (systemPlaces.indexOf(place) <= systemPlaces.indexOf(refused)) continue;
    const other = Buffer.from(textAt(text, place));
    if (!other.equals(sent)) return { sent: other, place };
  }
  return undefined;
}

function textAt(text: string, place: SystemPlace): string {
  if (place === 'anywhere') return text;
  const { messages } = JSON.parse(text) as ChatRequest;
  const moved = JSON.stringify(moveSystems(messages, place));
  return moved === JSON.stringify(messages) ? text : editMembers(text, new Map([['messages', moved]]));
}
