// Shared code of the JavaScript programs. They run in a temporary folder beside the packages of their client.

import assert from 'node:assert/strict';

export const { OFFPEAK_URL: url, OFFPEAK_API_KEY: key } = process.env;
export const image = `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`;
export const imageUrl = `data:image/png;base64,${image}`;

/** Final answer of the model with tools. */
export const toolSaid = /^The tool said: .*12 degrees/;
export const question = 'How is the weather in Rome?';

/** Runs all cells one after the other and prints one line of JSON for each. */
export async function run(cells) {
  for (const [name, cell] of Object.entries(cells)) {
    let error = null;
    try {
      await cell();
    } catch (thrown) {
      error = String(thrown?.stack ?? JSON.stringify(thrown))
        .split('\n')
        .slice(0, 8)
        .join('\n');
    }
    console.log(JSON.stringify({ name, error }));
  }
  process.exit(0);
}

/** Expects `call` to throw an error with this status, in any field that clients use. */
export async function raises(status, call) {
  let raised;
  try {
    await call();
  } catch (error) {
    raised = error;
  }
  assert.ok(raised, 'nothing was raised');
  const causes = [raised, raised.cause, raised.lastError, raised.error].filter(Boolean);
  const told = causes.flatMap((one) => [one.status, one.statusCode, one.response?.status]);
  assert.ok(told.map(Number).includes(status), `no ${status} in: ${raised.stack}`);
}

/** Returns the parts of a stream; requires several. */
export async function pieces(stream, textOf = (piece) => piece) {
  const all = [];
  for await (const piece of stream) {
    const text = textOf(piece);
    if (text) all.push(text);
  }
  assert.ok(all.length > 1, `${all.length} pieces`);
  return all.join('');
}

export function isPerson(person) {
  assert.equal(typeof person?.name, 'string');
  assert.ok(Number.isInteger(person.age));
}
