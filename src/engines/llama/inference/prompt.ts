import { Template } from '@huggingface/jinja';
import { invalid } from '../../../core/errors.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { type TemplateMessage, toTemplateMessages, toTemplateTools } from './messages.ts';
import { callEnd, callStart } from './tool-calls.ts';

export interface Tokenizer {
  /** With `special`, the text of a control token becomes that token; without it stays text. */
  tokenize(text: string, special: boolean): number[];
  /** Texts of the control tokens, such as `<|im_end|>`. */
  readonly controlTexts: readonly string[];
  readonly bosText: string;
  readonly eosText: string;
  /** The token every prompt must begin with, when the model wants one. */
  readonly bos: number | undefined;
}

export interface Prompts {
  /** The tokens of the conversation, up to where the assistant's answer begins. */
  tokens(request: ChatRequest): number[];
}

/** For models without a template of their own. */
const plainTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

export function createPrompts(template: string | undefined, tokenizer: Tokenizer): Prompts {
  const source = template || plainTemplate;
  const compiled = new Template(source);
  const knowsTools = /\btools\b/.test(source);
  const shield = createShield(tokenizer.controlTexts);

  function render(request: ChatRequest): string {
    const tools = request.tool_choice === 'none' ? [] : toTemplateTools(request.tools ?? []);
    let messages = toTemplateMessages(request.messages);
    if (tools.length > 0 && !knowsTools) messages = describeTools(messages, JSON.stringify(tools));
    return compiled.render({
      messages: shield.cover(messages),
      ...(tools.length > 0 && knowsTools ? { tools: shield.cover(tools) } : {}),
      add_generation_prompt: true,
      bos_token: tokenizer.bosText,
      eos_token: tokenizer.eosText,
    });
  }

  return {
    tokens(request) {
      let text: string;
      try {
        text = render(request);
      } catch (error) {
        if (!(error instanceof Error) || error.name === 'ApiError') throw error;
        throw invalid('messages', `the model's chat template refuses them: ${error.message}`);
      }
      const tokens = shield.split(text).flatMap((part) => tokenizer.tokenize(part.text, part.isTemplate));
      if (tokenizer.bos !== undefined && tokens[0] !== tokenizer.bos) tokens.unshift(tokenizer.bos);
      return tokens;
    },
  };
}

/** Tells a model whose template knows nothing of tools how to call them. */
function describeTools(messages: TemplateMessage[], tools: string): TemplateMessage[] {
  const text =
    `You can call these functions:\n${tools}\n` +
    `To call one, answer with ${callStart}{"name": <its name>, "arguments": <its arguments>}${callEnd} and nothing else.`;
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: text }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${text}` }, ...rest];
}

interface Shield {
  cover<T>(value: T): T;
  split(text: string): { text: string; isTemplate: boolean }[];
}

/**
 * Keeps control tokens the template's own: where a message spells one out, it is set aside while the template is
 * rendered and tokenized as plain text, so that nobody ends a turn or opens another from inside a message.
 */
function createShield(controlTexts: readonly string[]): Shield {
  const [open, close] = ['\uFDD0', '\uFDD1'];
  const reserved = [...controlTexts.filter((text) => text !== ''), open, close].toSorted(
    (a, b) => b.length - a.length,
  );
  const numbers = new Map(reserved.map((text, number) => [text, number]));
  const anyReserved = new RegExp(
    reserved.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'),
    'gu',
  );
  const covered = new RegExp(`${open}(\\d+)${close}`, 'u');

  function cover(value: unknown): unknown {
    if (typeof value === 'string')
      return value.replace(anyReserved, (text) => `${open}${numbers.get(text)}${close}`);
    if (Array.isArray(value)) return value.map(cover);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [cover(key), cover(member)]));
  }

  return {
    cover: cover as <T>(value: T) => T,
    // With a group in the pattern, every second part is a number.
    split: (text) =>
      text
        .split(covered)
        .map((part, index) =>
          index % 2 === 0
            ? { text: part, isTemplate: true }
            : { text: reserved[Number(part)]!, isTemplate: false },
        )
        .filter((part) => part.text !== ''),
  };
}
