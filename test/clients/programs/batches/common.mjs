// Shared code of the JavaScript clients of batches.

import assert from 'node:assert/strict';

/** Prompt that the model rejects. */
export const failing = '[[fail 400]]';

/** Result lines of a file of chat completions. */
export const linesOf = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

export const line = (id, content, endpoint = '/v1/chat/completions') =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: endpoint,
    body: { model: 'tiny', messages: [{ role: 'user', content }] },
  });

/** Expects the answers of the prompts "one" and "two", in any order. */
export function isEcho(texts) {
  assert.deepEqual(texts.toSorted(), ['Echo: one', 'Echo: two']);
}

/** Calls `check` until its result is truthy. */
export async function until(check) {
  for (let n = 0; n < 600; n++) {
    const found = await check();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('nothing came within a minute');
}
