/** A value that tells its listeners when it changes. */
export class Signal<T> {
  private listeners: ((value: T) => void)[] = [];

  constructor(private held: T) {}

  get value(): T {
    return this.held;
  }

  set value(value: T) {
    this.held = value;
    for (const listener of this.listeners) listener(value);
  }

  /** Calls the listener now and after every change. */
  follow(listener: (value: T) => void): void {
    this.listeners.push(listener);
    listener(this.held);
  }

  /** Calls the listener after every change. */
  changed(listener: (value: T) => void): void {
    this.listeners.push(listener);
  }
}
