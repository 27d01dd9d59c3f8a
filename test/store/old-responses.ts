import { expect } from 'vitest';
import type { Db } from '../../src/store/db.ts';
import { migrate, migrations } from '../../src/store/migrations/migrate.ts';
import { createResponses } from '../../src/store/sql/responses/responses.ts';
import { start } from './fixtures.ts';

/** Responses as they were stored before conversations had sizes come through the step that gives them theirs. */
export async function expectOldResponses(db: Db): Promise<void> {
  await migrate(db, migrations.slice(0, 3));
  const input = '[{"type":"message","id":"msg_1","text":"ü \\u0000 1.50"}]';
  const output = '[{"id":"msg_2","content":[{"text":"日本 \\u0000 \\ud800 \\"x\\""}]}]';
  const bodyOf = (said: string) =>
    JSON.stringify({
      metadata: { output: 'x,"output":[1],"parallel_tool_calls":' },
      output: JSON.parse(said),
      parallel_tool_calls: true,
      tools: [{ output: [1], parallel_tool_calls: 2 }],
    });
  const body = bodyOf(output);
  const insert = (id: string, org: string, alive: number | null, text: string, pieces: string | null) =>
    db.all(
      `INSERT INTO responses (id, org_id, status, previous_id, created_at, expires_at, alive_until, pieces, input, body)
       VALUES (?, ?, 'completed', NULL, ?, ?, ?, ?, ?, ?)`,
      [id, org, start, start + 1, alive, pieces, input, text],
    );
  await insert('resp_a', 'org_a', null, body, '[[0,1]]');
  await insert('resp_b', 'org_a', start, bodyOf('[]'), null);
  await insert('resp_c', 'org_b', null, body, null);
  await migrate(db);

  const store = createResponses(db);
  const saidBytes = Buffer.byteLength(input + output);
  expect(await store.get('org_a', 'resp_a', start)).toMatchObject({ saidBytes, body, pieces: '[[0,1]]' });
  const { resp_a: text } = await store.texts('org_a', 'output', ['resp_a'], start);
  expect(JSON.parse(text!)).toEqual(JSON.parse(output));
  expect(await store.texts('org_a', 'input', ['resp_a'], start)).toEqual({ resp_a: input });
  expect(await store.storedBytes('org_b')).toBe(Buffer.byteLength(input + output + body));
  expect((await store.abandoned(start, 9)).map(({ id }) => id)).toEqual(['resp_b']);
  for (const id of ['resp_a', 'resp_b']) await store.remove('org_a', id, start);
  expect(await store.storedBytes('org_a')).toBe(0);
}
