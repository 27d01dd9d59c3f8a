// MCP server for the coding agents: it counts parts.

import { createInterface } from 'node:readline';

const tool = {
  name: 'stock',
  description: 'Counts how many of a part are in stock.',
  inputSchema: { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'depot', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { part } }) => ({ content: [{ type: 'text', text: `7 of ${part}` }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = answers[method]?.(params) ?? {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
