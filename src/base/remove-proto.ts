/**
 * Removes the accessor `__proto__` from all objects of this thread, as `node --disable-proto=delete` does. Assigning a
 * member of that name, which may come from a request, then sets an ordinary property instead of the prototype.
 * Only for programs whose packages do not use the accessor.
 */
export function removeProto(): void {
  Reflect.deleteProperty(Object.prototype, '__proto__');
}
