import type { Fields } from '../../../base/fields.ts';
import { endpointOfBody, isBareBody } from '../../../wire/batch/bare-body.ts';
import { type Edits, editMembers } from '../../../wire/json/edit-members.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { exportedMessages, isExportedChat, withoutLastAnswer } from './chat-export.ts';

/**
 * Batch line for a request body, for an example of a file for fine-tuning (a body without a model), or for a conversation of a
 * ChatGPT export. Other items are unchanged.
 * @returns '' for a conversation without a question
 * @throws CliError for an item without a model, unless all get one
 */
export function wrapItem(
  item: string,
  fields: Fields,
  { number, hasModel }: { number: number; hasModel: boolean },
): string {
  const isChat = isExportedChat(fields);
  if (!isChat && !isBareBody(fields)) return item;
  if (!hasModel && fields['model'] === undefined)
    throw new CliError(
      `Line ${number} of the input names no model.`,
      'Choose one for all lines with --model.',
    );
  if (isChat) {
    const messages = exportedMessages(fields);
    if (messages.length === 0) return '';
    return line(idOf(fields, ['conversation_id', 'id']) ?? `line-${number}`, '/v1/chat/completions', {
      messages,
    });
  }
  const edits: Edits = new Map();
  for (const name of idMembers) if (fields[name] !== undefined) edits.set(name, null);
  const { messages } = fields;
  // The last answer of an example is what the model is asked for.
  if (Array.isArray(messages) && fields['model'] === undefined)
    edits.set('messages', JSON.stringify(withoutLastAnswer(messages as Fields[])));
  const body = edits.size === 0 ? item : editMembers(item, edits);
  return line(idOf(fields, idMembers) ?? `line-${number}`, endpointOfBody(fields), body);
}

const idMembers = ['custom_id', 'id'];

function idOf(fields: Fields, names: readonly string[]): string | undefined {
  const id = names.map((name) => fields[name]).find((value) => value !== undefined && value !== null);
  return id === undefined ? undefined : typeof id === 'string' ? id : JSON.stringify(id);
}

function line(id: string, url: string, body: string | Fields): string {
  const json = typeof body === 'string' ? body.trim() : JSON.stringify(body);
  return `{"custom_id":${JSON.stringify(id)},"method":"POST","url":"${url}","body":${json}}`;
}
