import { expect, it } from 'vitest';
import { publicUrl } from './public-url.ts';

it.each([
  [{ host: '127.0.0.1:8080' }, 'http://127.0.0.1:8080'],
  [{ host: '[::1]:8080' }, 'http://[::1]:8080'],
  [{ host: 'a.example', 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https' }, 'https://a.example'],
  [
    {
      host: '10.0.0.1:8080',
      'x-forwarded-proto': 'https, http',
      'x-forwarded-host': 'a.example:8443, b',
      'x-forwarded-prefix': '/ai/',
    },
    'https://a.example:8443/ai',
  ],
  // A proxy with TLS that does not say so.
  [{ host: 'a.example', 'x-forwarded-for': '1.2.3.4' }, ''],
  [{ host: 'a.example', via: '1.1 cache' }, ''],
  [{ host: 'a b"><script>' }, ''],
  [{ host: 'a.example', 'x-forwarded-proto': 'javascript' }, ''],
  [{}, ''],
])('the address in %j is %j', (headers, url) => {
  expect(publicUrl(headers)).toBe(url);
});
