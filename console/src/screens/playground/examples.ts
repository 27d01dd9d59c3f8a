export const toolsExample = JSON.stringify(
  [
    {
      name: 'get_weather',
      description: 'Returns the weather of a city.',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
    },
  ],
  null,
  2,
);

export const schemaExample = JSON.stringify(
  {
    type: 'object',
    properties: { capital: { type: 'string' }, population: { type: 'integer' } },
    required: ['capital', 'population'],
    additionalProperties: false,
  },
  null,
  2,
);
