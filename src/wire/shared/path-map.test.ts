import { expect, it } from 'vitest';
import { invalid } from '../../core/errors.ts';
import { remapError, type PathMap } from './path-map.ts';

const parameters = { type: 'object' };
const called = { name: 'f', parameters };
const converted = { tools: [{ type: 'function', function: called }], tool_choice: 'auto' };

it.each([
  ['tools[0].function.name', 'functions[0].name'],
  ['tools[0].function.parameters', 'functions[0].schema'],
  ['tools[0].function.parameters.required[1]', 'functions[0].schema.required[1]'],
  ['tools[0].function.parameters["a.b"]["c\\"d"]', 'functions[0].schema["a.b"]["c\\"d"]'],
  ['tools[0].function.parameters#', 'functions[0].schema#'],
  ['tools[0].function.parameters#/properties/$&/a.b', 'functions[0].schema#/properties/$&/a.b'],
  ['tools[1].type', 'tools[1].type'],
  ['tool_choice.function.name', 'function_call.function.name'],
  ['temperature', 'temperature'],
])('a fault at %s is told at %s, in the param and in the message', (param, place) => {
  const paths: PathMap = new Map<object | string, string>([
    [called, 'functions[0]'],
    [parameters, 'functions[0].schema'],
    ['tool_choice', 'function_call'],
  ]);
  const moved = remapError(invalid(param, 'not good'), converted, paths);
  expect(moved).toMatchObject({ code: 'validation_error', param: place, message: `${place}: not good` });
});
