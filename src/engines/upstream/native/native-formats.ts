import { editMembers } from '../../../wire/json/edit-members.ts';
import type { Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { NativeRequest, Op } from '../../engines.ts';
import type { NativeFormat } from './native-format.ts';
import { nativeMessages } from './native-messages.ts';

export const nativeFormats: Record<Op, NativeFormat> = { messages: nativeMessages };

/** The text to send: the client's bytes with the server's name of the model, without what does not go on. */
export function nativeText(
  { value, text }: JsonBody<NativeRequest>,
  { members }: NativeFormat,
  { model, passThrough }: { model: string; passThrough: readonly string[] },
): string {
  const edits: Edits = new Map([['model', JSON.stringify(model)]]);
  for (const name in value) if (!members.has(name) && !passThrough.includes(name)) edits.set(name, null);
  return editMembers(text, edits);
}
