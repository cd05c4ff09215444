import { EventEmitter } from 'eventemitter3';

/** Emitter sends in-process notifications. `Events` maps each name to the arguments of its listeners. A listener must not throw. */
export class Emitter<Events extends Record<keyof Events, readonly unknown[]>> {
  readonly #bus = new EventEmitter();

  /** Calls `listener` on each `name` event; the returned function removes it. */
  on<Name extends keyof Events & string>(name: Name, listener: (...args: Events[Name]) => void): () => void {
    const call = listener as unknown as (...args: unknown[]) => void;
    this.#bus.on(name, call);
    return () => {
      this.#bus.off(name, call);
    };
  }

  emit<Name extends keyof Events & string>(name: Name, ...args: Events[Name]): void {
    this.#bus.emit(name, ...args);
  }

  /** The number of listeners of `name`. */
  listenerCount(name: keyof Events & string): number {
    return this.#bus.listenerCount(name);
  }
}
