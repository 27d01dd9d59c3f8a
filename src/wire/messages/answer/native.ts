import type { AnswerIdentity } from '../../prepared/prepared-request.ts';
import { editMembers } from '../../json/edit-members.ts';
import { namedEvent } from '../../shared/sse.ts';
import { messageId } from './from-chat-response.ts';

type Name = Pick<AnswerIdentity, 'id' | 'model'>;

/** Answer of a server that supports messages. Only the id and the model are replaced. */
export function nativeMessage({ text }: { text: string }, { id, model }: Name): string {
  return editMembers(
    text,
    new Map([
      ['id', JSON.stringify(messageId(id))],
      ['model', JSON.stringify(model)],
    ]),
  );
}

/** Server-sent event of such an answer. */
export function nativeMessageEvent(
  { type, data, fields }: { type: string; data: string; fields?: Record<string, unknown> },
  { id, model }: Name,
): string {
  if (type !== 'message_start' || !fields) return namedEvent(type, data);
  const message = { ...(fields['message'] as object), id: messageId(id), model };
  return namedEvent(type, JSON.stringify({ ...fields, message }));
}
