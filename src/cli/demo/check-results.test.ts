import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkResults } from './check-results.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-demo-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tool = {
  tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
  tool_choice: { type: 'function', function: { name: 'get_weather' } },
};
const json = {
  response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: parameters } },
};

function check(body: object, message: object | null) {
  const request = { custom_id: 'a', body: { messages: [{ role: 'user', content: 'Q' }], ...body } };
  const response = message && { status_code: 200, body: { choices: [{ message }] } };
  writeFileSync(join(folder, 'in'), `${JSON.stringify(request)}\n`);
  writeFileSync(join(folder, 'out'), `${JSON.stringify({ custom_id: 'a', response, error: null })}\n`);
  return checkResults(join(folder, 'in'), join(folder, 'out'));
}

const call = (name: string, text: string) => ({ tool_calls: [{ function: { name, arguments: text } }] });

it.each([
  ['plain text', {}, { content: 'Paris' }],
  ['JSON as the schema wants it', json, { content: '{"city":"Rome"}' }],
  ['the forced call', tool, call('get_weather', '{"city":"Rome"}')],
])('accepts %s', (_, body, message) => {
  expect(check(body, message)).toMatchObject({ missing: [], answered: [{ prompt: 'Q', problem: null }] });
});

it.each([
  ['cut JSON', json, { content: '{"city":"Ro' }],
  ['JSON of another shape', json, { content: '{"city":1}' }],
  ['talk instead of JSON', json, { content: 'Rome' }],
  ['talk instead of a call', tool, { content: 'It is sunny' }],
  ['another call', tool, call('get_time', '{"city":"Rome"}')],
  ['a call with wrong arguments', tool, call('get_weather', '{}')],
])('finds %s', (_, body, message) => {
  expect(check(body, message).answered[0]?.problem).toEqual(expect.any(String));
});

it('counts a request without a result as missing', () => {
  expect(check({}, null)).toEqual({ missing: ['a'], answered: [] });
});
