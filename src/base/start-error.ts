/** Outside cause that prevents start-up, such as a taken port. The message says what to do and is printed without a stack. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}
