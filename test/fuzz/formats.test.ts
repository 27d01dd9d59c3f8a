import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChatMessage, ContentPart } from '../../src/wire/chat/chat.ts';
import { checkChatRequest } from '../../src/wire/chat/request/request.ts';
import { parseExact } from '../../src/wire/json/exact-numbers.ts';
import { parseMessagesRequest } from '../../src/wire/messages/request/request.ts';
import { toChatRequest as fromMessages } from '../../src/wire/messages/request/to-chat-request.ts';
import { parseResponsesRequest } from '../../src/wire/responses/request/request.ts';
import { storedItems } from '../../src/wire/responses/stored-items.ts';
import { toChatRequest as fromResponses } from '../../src/wire/responses/request/to-chat-request.ts';
import { chatMessages, messageTurns, responseItems, type Story, stories } from './stories.ts';

/** Number that JSON can hold exactly and JavaScript cannot. */
const exact = (text: string) => text.replaceAll('12345678901234567000', '12345678901234567890');

function seenFromMessages(story: Story): ChatMessage[] {
  const text = exact(JSON.stringify({ model: 'm', max_tokens: 1, ...messageTurns(story) }));
  return fromMessages(parseMessagesRequest(text)).chat.messages;
}

function seenFromResponses(story: Story): ChatMessage[] {
  const text = JSON.stringify({ model: 'm', input: responseItems(story) });
  const { value } = parseResponsesRequest(text);
  const items = storedItems(value.input, `resp_${'0'.repeat(32)}`);
  return fromResponses(
    value,
    items.map((item, at) => ({ item, path: `input[${at}]` })),
  ).chat.messages;
}

it('reaches the engine as the same conversation from all three formats', () => {
  fc.assert(
    fc.property(stories, (story) => {
      const chat = chatMessages(story) as unknown as ChatMessage[];
      const messages = seenFromMessages(story);
      const responses = seenFromResponses(story);
      for (const seen of [chat, messages, responses])
        expect(checkChatRequest({ model: 'm', messages: seen })).toEqual([]);
      expect(plain(messages)).toEqual(plain(withoutOldThoughts(chat)));
      expect(plain(responses)).toEqual(plain(messages));
    }),
    { numRuns: 500 },
  );
});

/** Keeps the reasoning of turns that called tools, and drops the rest. */
function withoutOldThoughts(messages: ChatMessage[]): ChatMessage[] {
  return messages.map(({ reasoning: _same, reasoning_content: thought, ...message }) =>
    message.tool_calls?.length && thought ? { ...message, reasoning_content: thought } : message,
  );
}

interface Reply {
  role: string;
  content: (string | { image: string })[];
  calls: { id: string; name: string; input: string }[];
  answers?: string;
  thought?: string;
}

/** Normalizes equivalent spellings. */
function plain(messages: ChatMessage[]): Reply[] {
  const said: Reply[] = [];
  for (const message of messages) {
    const role = message.role === 'developer' ? 'system' : message.role;
    const last = said.at(-1);
    const parts = partsOf(message);
    const isLeading = role === 'system' && said.length === 1;
    if (last?.role === role && (isLeading || role === 'user' || role === 'assistant')) {
      if (isLeading) last.content.push('\n\n');
      last.content = joined([...last.content, ...parts]);
      last.calls.push(...callsOf(message));
    } else
      said.push({
        role,
        content: parts,
        calls: callsOf(message),
        ...(message.tool_call_id !== undefined && { answers: message.tool_call_id }),
        ...(message.reasoning_content && { thought: message.reasoning_content }),
      });
  }
  return said;
}

function callsOf({ tool_calls: calls }: ChatMessage): Reply['calls'] {
  return (calls ?? []).map(({ id, function: { name, arguments: json } }) => ({
    id,
    name,
    input: JSON.stringify(parseExact(json)),
  }));
}

function partsOf({ content, refusal }: ChatMessage): Reply['content'] {
  const parts: ContentPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const said = parts.map((part) =>
    part.type === 'image_url'
      ? { image: (part['image_url'] as { url: string }).url }
      : (part.text ?? part.refusal ?? ''),
  );
  return joined([...said, refusal ?? '']);
}

function joined(parts: Reply['content']): Reply['content'] {
  const whole: Reply['content'] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (typeof part === 'string' && typeof last === 'string') whole[whole.length - 1] = last + part;
    else if (part !== '') whole.push(part);
  }
  return whole;
}
