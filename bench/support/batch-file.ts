/**
 * Returns a batch file with `count` realistic requests of about `lineBytes`: twenty shared system prompts, several turns,
 * paragraphs and quotes, a tenth with tools, some non-ASCII text. With `schemas`, a tenth has a schema, for engines that
 * conform to it.
 */
export function batchFile(count: number, lineBytes: number, schemas = false): Buffer {
  const lines: string[] = [];
  for (let i = 0; i < count; i++) lines.push(line(i, lineBytes, schemas));
  return Buffer.from(lines.join(''));
}

const sentences = [
  'The harbour master keeps two ledgers; in the first he writes what the ships declare.\n',
  'In the second stands what the cranes have lifted: 12.5 t, 3 crates, "fragile".\n\n',
  'Zwischen den beiden, sagt er, liegt die Wahrheit – meistens näher am Kran.\n',
  'Pier 4\tfree from 06:30\tdepth 9.1 m\tsee https://example.com/piers?id=4&lang=en\n',
  '- What was declared?\n- What was lifted?\n- Who signed, and when?\n',
];

const tools = [
  {
    type: 'function',
    function: {
      name: 'report_cargo',
      description: 'Enters what was lifted.',
      parameters: {
        type: 'object',
        properties: {
          pier: { type: 'integer' },
          tons: { type: 'number' },
          goods: { type: 'array', items: { type: 'string' } },
        },
        required: ['pier', 'tons'],
      },
    },
  },
];

const format = {
  type: 'json_schema',
  json_schema: {
    name: 'verdict',
    strict: true,
    schema: {
      type: 'object',
      properties: { honest: { type: 'boolean' }, reason: { type: 'string' } },
      required: ['honest', 'reason'],
      additionalProperties: false,
    },
  },
};

function line(i: number, lineBytes: number, schemas: boolean): string {
  const messages = [
    {
      role: 'system',
      content: `You are clerk number ${i % 20} of the harbour office.\n${sentences.join('').repeat(3)}`,
    },
    { role: 'user', content: `What came in on day ${i % 365}?` },
    { role: 'assistant', content: 'Three ships; two had declared what they carried.' },
    { role: 'user', content: '' },
  ];
  const body = {
    model: 'bench-alias',
    messages,
    max_tokens: 64,
    temperature: 0.2,
    ...(i % 10 === 0 && { tools, tool_choice: 'auto' }),
    ...(schemas && i % 10 === 5 && { response_format: format }),
  };
  const request = { custom_id: `row-${i}`, method: 'POST', url: '/v1/chat/completions', body };
  let room = lineBytes - written(request);
  let text = `Row ${i}.\n`;
  for (let n = i; room > 0; n++) {
    const sentence = sentences[n % sentences.length] ?? '';
    text += sentence;
    room -= written(sentence) - 2;
  }
  messages[3] = { role: 'user', content: text };
  return `${JSON.stringify(request)}\n`;
}

function written(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Returns `file` as a multipart upload. */
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
