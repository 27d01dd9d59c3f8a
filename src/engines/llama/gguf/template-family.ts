/** Marks that templates of one family share, the more particular ones first. */
const families: readonly (readonly [family: string, ...marks: string[]])[] = [
  ['Harmony (gpt-oss)', '<|channel|>', '<|start|>'],
  ['Llama 3', '<|start_header_id|>'],
  ['Llama 4', '<|header_start|>'],
  ['Gemma', '<start_of_turn>'],
  ['Command R', '<|START_OF_TURN_TOKEN|>'],
  ['DeepSeek', '<｜User｜>'],
  ['GLM', '[gMASK]'],
  ['Granite', '<|start_of_role|>'],
  ['Qwen (ChatML)', '<|im_start|>', '<tool_call>'],
  ['ChatML', '<|im_start|>'],
  ['Phi', '<|user|>', '<|end|>'],
  ['Zephyr', '<|user|>', '<|assistant|>'],
  ['Llama 2', '[INST]', '<<SYS>>'],
  ['Mistral', '[INST]'],
  ['Alpaca', '### Instruction'],
  ['Vicuna', 'USER:', 'ASSISTANT:'],
];

/** The family of chat templates that this one belongs to, by the marks it writes; null when none is known. */
export function templateFamily(template: string): string | null {
  return families.find(([, ...marks]) => marks.every((mark) => template.includes(mark)))?.[0] ?? null;
}
