import type { ResponseStatus } from '../../../core/response.ts';
import type { AnswerRows } from '../../../core/stored-answer.ts';
import type { EventType } from '../../../core/webhook.ts';
import type { Queries } from '../../db.ts';
import { addStored, type StorageChange } from '../storage.ts';
import { addEvent } from '../webhooks/deliveries.ts';
import { insertChats } from './chats.ts';
import { appendAll } from './conversations.ts';
import { finishResponse, insertResponses } from './responses.ts';

const events: Partial<Record<ResponseStatus, EventType>> = {
  completed: 'response.completed',
  incomplete: 'response.incomplete',
  failed: 'response.failed',
  cancelled: 'response.cancelled',
};

/** Stores answers in the transaction of their results. */
export async function insertAnswers(q: Queries, answers: readonly AnswerRows[], now: number): Promise<void> {
  const of = <K extends keyof AnswerRows>(name: K) => answers.flatMap(({ [name]: row }) => row ?? []);
  const added: StorageChange[] = [];
  const [chats, responses] = [of('chat'), of('response')];
  if (chats.length > 0) added.push(...(await insertChats(q, chats)));
  if (responses.length > 0) added.push(...(await insertResponses(q, responses)));
  // One lock order for all processes.
  for (const { ended, turn } of answers.toSorted((a, b) =>
    (a.ended?.id ?? '') < (b.ended?.id ?? '') ? -1 : 1,
  )) {
    const finished = ended && (await finishResponse(q, ended));
    // It was cancelled or deleted.
    if (ended && !finished) continue;
    if (turn) added.push(...(await appendAll(q, [turn])));
    if (!finished) continue;
    added.push(finished);
    const event = events[ended.end.status];
    if (event) await addEvent(q, finished.orgId, event, ended.id, now);
  }
  if (added.length > 0) await addStored(q, added);
}
