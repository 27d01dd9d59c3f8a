import { expect, it } from 'vitest';
import { addressOf } from './address.ts';

it.each([
  ['http://h:8000/v1', '/v1/chat/completions', '/tokenize'],
  ['http://h:8000/deep/v1/', '/deep/v1/chat/completions', '/deep/tokenize'],
  ['http://h', '/chat/completions', '/tokenize'],
  [
    'https://h/openai/deployments/{model}?api-version=2024-10-21',
    '/openai/deployments/my%2Fmodel/chat/completions?api-version=2024-10-21',
    '/openai/deployments/my%2Fmodel/tokenize?api-version=2024-10-21',
  ],
])('%s', (url, path, root) => {
  const address = addressOf(url, 'my/model');
  expect(address.path('/chat/completions')).toBe(path);
  expect(address.rootPath('/tokenize')).toBe(root);
});
