/**
 * Something outside the program keeps it from starting: a missing file, a taken port, too little memory. The message
 * says what to do and is printed alone, without a stack.
 */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}
