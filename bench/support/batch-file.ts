/** A batch file of `count` requests of about `lineBytes` each: shared system prompts, some schemas, not only ASCII. */
export function batchFile(count: number, lineBytes: number): Buffer {
  const lines: string[] = [];
  for (let i = 0; i < count; i++) lines.push(line(i, lineBytes));
  return Buffer.from(lines.join(''));
}

const prose =
  'The harbour master keeps two ledgers. In the first he writes what the ships declare, in the second what the cranes lift. ' +
  'Zwischen den beiden liegt, wie er sagt, die Wahrheit; 真実はその間にある. ';

function line(i: number, lineBytes: number): string {
  const system = `You are clerk number ${i % 20} of the harbour office. ${prose.repeat(3)}`;
  const body: Record<string, unknown> = {
    model: 'bench-alias',
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: '' },
    ],
    max_tokens: 64,
    temperature: 0.2,
  };
  if (i % 10 === 0)
    body['tools'] = [
      {
        type: 'function',
        function: { name: 'lift', parameters: { type: 'object', properties: { tons: { type: 'number' } } } },
      },
    ];
  const request = { custom_id: `row-${i}`, method: 'POST', url: '/v1/chat/completions', body };
  const bare = Buffer.byteLength(JSON.stringify(request)) + 1;
  const room = Math.max(0, lineBytes - bare);
  const user = `${i}: ${prose.repeat(Math.ceil(room / 150))}`;
  let text = user.slice(0, room);
  while (Buffer.byteLength(text) > room) text = text.slice(0, -8);
  body['messages'] = [
    { role: 'system', content: system },
    { role: 'user', content: text },
  ];
  return `${JSON.stringify(request)}\n`;
}

/** `file` as the multipart body of an upload. */
export function multipart(file: Buffer): { body: Buffer; contentType: string } {
  const boundary = 'bench-boundary-7d1b5a';
  const part = (headers: string) =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${headers}\r\n\r\n`);
  const body = Buffer.concat([
    part('name="purpose"'),
    Buffer.from('batch\r\n'),
    part('name="file"; filename="input.jsonl"\r\nContent-Type: application/octet-stream'),
    file,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}
