import { describe, expect, test } from 'vitest';
import { isLost, isUnusable, translate } from './errors.ts';

const url = 'postgres://someone:secret@127.0.0.1:6432/offpeak';
const fault = (code: string, message: string, severity = 'FATAL') =>
  Object.assign(new Error(message), { code, severity });

describe('errors of a pooler', () => {
  test.each([
    [
      'unsupported startup parameter: statement_timeout',
      'Add statement_timeout to ignore_startup_parameters of the pooler, or remove it from the database URL.',
    ],
    [
      'unsupported startup parameter in options: search_path',
      'Add search_path to ignore_startup_parameters of the pooler, or remove it from the database URL.',
    ],
    [
      'transaction blocks not allowed in statement pooling mode',
      'Set pool_mode of the pooler to transaction or session.',
    ],
    ['query_wait_timeout', 'Check the limits and the log of the pooler.'],
    ['no such user', 'Check the limits and the log of the pooler.'],
  ])('are shown in its words: %s', (message, hint) => {
    const error = fault('08P01', message);
    expect(isLost(error)).toBe(false);
    expect(isUnusable(error)).toBe(true);
    expect(translate(error, url)).toMatchObject({
      name: 'StoreError',
      code: 'refused',
      message: `The database 127.0.0.1:6432/offpeak, or the pooler in front of it, refused: ${message}.`,
      hint,
      cause: error,
    });
  });

  test.each([
    'server conn crashed?',
    'server connection closed',
    'server login has been failing, try again later (server_login_retry)',
    'server login has been failing, cached error: connect failed (server_login_retry)',
    'client_login_timeout (server down)',
    'server shutting down',
    'invalid server parameter',
    'suspend_timeout',
    'client_idle_timeout',
  ])('are a lost connection where it says so: %s', (message) => {
    const error = fault('08P01', message);
    expect(isLost(error)).toBe(true);
    expect(translate(error, url)).toMatchObject({
      code: 'unreachable',
      message: `The database 127.0.0.1:6432/offpeak does not answer (${message}).`,
    });
  });

  test.each([
    ['26000', 'prepared statement "offpeak_1" does not exist'],
    ['42P05', 'prepared statement "offpeak_1" already exists'],
  ])('about prepared statements name the setting: %s', (code, message) => {
    const error = fault(code, message, 'ERROR');
    expect(isUnusable(error)).toBe(true);
    expect(translate(error, url)).toMatchObject({
      code: 'refused',
      message: `The pooler at 127.0.0.1:6432/offpeak does not keep prepared statements: ${message}.`,
      hint: 'Set max_prepared_statements of the pooler above 0, use its session mode, or connect to Postgres directly.',
    });
  });
});

test.each([
  ['', 'Query read timeout'],
  ['25P03', 'terminating connection due to idle-in-transaction timeout'],
  ['', 'timeout exceeded when trying to connect'],
])('a standstill of this process is not blamed on the database: %s %s', (code, message) => {
  const error = Object.assign(new Error(message), code === '' ? {} : { code });
  expect(translate(error, url, 36_400)).toMatchObject({
    code: 'unreachable',
    message: `This process stood still for 36 s, and lost the answer of the database 127.0.0.1:6432/offpeak (${message}).`,
    hint: 'Check whether the machine was suspended, or short of CPU or memory.',
  });
  expect(translate(error, url, 4_999)).toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/^The database .* does not answer/),
  });
});

test('an error that no standstill causes stays as it is', () => {
  expect(translate(fault('53100', 'disk full'), url, 60_000)).toMatchObject({ code: 'insufficient_storage' });
});

test('a statement that breaks the protocol is a fault of Offpeak, not of the database', () => {
  const error = fault('08P01', 'bind message supplies 1 parameters', 'ERROR');
  expect(isLost(error)).toBe(false);
  expect(translate(error, url)).toBe(error);
});

test.each(['08000', '08003', '08006', '57P01', 'ECONNRESET'])('%s is a lost connection', (code) => {
  const error = fault(code, 'gone');
  expect(isLost(error)).toBe(true);
  expect(translate(error, url)).toMatchObject({
    code: 'unreachable',
    message: `The database 127.0.0.1:6432/offpeak does not answer (${code}).`,
  });
});
