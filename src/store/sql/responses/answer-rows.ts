import type { AnswerRows } from '../../../core/stored-answer.ts';
import type { Queries } from '../../db.ts';
import { addStored } from '../storage.ts';
import { insertChats } from './chats.ts';
import { appendAll } from './conversations.ts';
import { insertResponses } from './responses.ts';

/** Stores answers in the transaction of their results. */
export async function insertAnswers(q: Queries, answers: readonly AnswerRows[]): Promise<void> {
  if (answers.length === 0) return;
  const added = [
    ...(await insertChats(
      q,
      answers.flatMap(({ chat }) => chat ?? []),
    )),
    ...(await insertResponses(
      q,
      answers.flatMap(({ response }) => response ?? []),
    )),
    ...(await appendAll(
      q,
      answers.flatMap(({ turn }) => turn ?? []),
    )),
  ];
  await addStored(q, added);
}
