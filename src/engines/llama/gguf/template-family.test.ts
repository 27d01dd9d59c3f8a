import { expect, it } from 'vitest';
import { templateFamily } from './template-family.ts';

it.each([
  ["{{ '<|im_start|>' + message.role }}<tool_call>", 'Qwen (ChatML)'],
  ["{{ '<|im_start|>' + message.role }}", 'ChatML'],
  ["{{ '<|start_header_id|>' + role + '<|end_header_id|>' }}", 'Llama 3'],
  ["{{ bos_token + '[INST] ' + content + ' [/INST]' }}", 'Mistral'],
  ["{{ '[INST] <<SYS>>' + system }}", 'Llama 2'],
  ["{{ '<start_of_turn>' + role }}", 'Gemma'],
  ["{{ '<|start|>' + role + '<|channel|>final' }}", 'Harmony (gpt-oss)'],
  ["{{ '<|user|>' + content + '<|end|>' }}", 'Phi'],
  ['{{ content }}', null],
  ['', null],
])('%s', (template, family) => expect(templateFamily(template)).toBe(family));
