/**
 * Features of the clients, one cell each. Every official client has a test for every cell of its family: the JavaScript
 * ones in `openai-*.ts` and `anthropic-*.ts` beside this file, the Python ones in `../python`. The tables in
 * `docs/clients.md` have the same rows.
 */
export const openaiCells = [
  'chat: plain',
  'chat: stream',
  'chat: stream helper',
  'chat: tools',
  'chat: tools, streamed',
  'chat: tool runner',
  'chat: forced tool',
  'chat: structured output',
  'chat: structured output, streamed',
  'chat: broken stream',
  'chat: abort',
  'chat: flex',
  'responses: plain',
  'responses: stream',
  'responses: stream helper',
  'responses: tools',
  'responses: tool runner',
  'responses: forced tool',
  'responses: structured output',
  'responses: structured output, streamed',
  'responses: stored',
  'responses: continued',
  'responses: background',
  'responses: flex',
  'responses: replay',
  'responses: broken stream',
  'responses: count tokens',
  'embeddings',
  'files',
  'batches',
  'models',
] as const;

export const anthropicCells = [
  'messages: plain',
  'messages: stream',
  'messages: stream helper',
  'messages: tools',
  'messages: tools, streamed',
  'messages: tool runner',
  'messages: forced tool',
  'messages: structured output',
  'messages: structured output, streamed',
  'messages: broken stream',
  'messages: abort',
  'messages: flex',
  'messages: count tokens',
  'models',
  'files are refused',
  'batches',
] as const;

export type OpenAICell = (typeof openaiCells)[number];
export type AnthropicCell = (typeof anthropicCells)[number];
