import type { AnswerBlock, Message, MessageEvent } from '../../src/wire/messages/messages.ts';

/**
 * Assembles a streamed message. Throws unless the events follow the rules: one open block at a time, consecutive indexes,
 * deltas that fit their block, one start and one end.
 */
export function collectMessage(events: readonly MessageEvent[]): Message {
  const [first, ...rest] = events;
  if (first?.type !== 'message_start') throw new Error('the first event is no message_start');
  const message: Message = structuredClone(first.message);
  let open: AnswerBlock | undefined;
  let json = '';
  let next = 0;
  let isEnded = false;
  for (const [at, event] of rest.entries()) {
    const broken = (what: string) => new Error(`event ${at + 1} (${event.type}): ${what}`);
    if ('index' in event && event.index !== next) throw broken(`index ${event.index} instead of ${next}`);
    switch (event.type) {
      case 'message_start':
        throw broken('a second start');
      case 'content_block_start':
        if (open) throw broken('another block is open');
        open = structuredClone(event.content_block);
        json = '';
        message.content.push(open);
        break;
      case 'content_block_delta':
        if (!open) throw broken('no block is open');
        json += addDelta(open, event.delta, broken);
        break;
      case 'content_block_stop':
        if (!open) throw broken('no block is open');
        if (open.type === 'tool_use') open.input = JSON.parse(json);
        open = undefined;
        next += 1;
        break;
      case 'message_delta':
        if (open || isEnded) throw broken('not at the end');
        isEnded = true;
        Object.assign(message, event.delta, { usage: { ...message.usage, ...event.usage } });
        break;
      case 'message_stop':
        if (!isEnded || at !== rest.length - 1) throw broken('not the last event');
    }
  }
  if (rest.at(-1)?.type !== 'message_stop') throw new Error('the stream just stopped');
  return message;
}

type Delta = Extract<MessageEvent, { type: 'content_block_delta' }>['delta'];

/** Adds the delta to the block; returns the part of a tool's input that it contains. */
function addDelta(open: AnswerBlock, delta: Delta, broken: (what: string) => Error): string {
  const misfit = broken(`a ${delta.type} in a block of ${open.type}`);
  if (delta.type === 'text_delta' && open.type === 'text') open.text += delta.text;
  else if (delta.type === 'thinking_delta' && open.type === 'thinking') open.thinking += delta.thinking;
  else if (delta.type === 'signature_delta' && open.type === 'thinking') open.signature = delta.signature;
  else if (delta.type === 'input_json_delta' && open.type === 'tool_use') return delta.partial_json;
  else throw misfit;
  return '';
}
