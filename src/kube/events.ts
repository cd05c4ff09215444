import type { KubeObject } from './types.ts';

/** Optional members of an Event. */
export interface EventDetails {
  /** The part of the object that the event is about, such as `spec.containers{web}` (R281). */
  readonly fieldPath?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** EventRecorder records Events. Calls return at once; the recorder delivers, aggregates and limits them (R281). */
export interface EventRecorder {
  /** @param object the object that the event is about; its kind, namespace, name and UID are used */

  event(
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    details?: EventDetails,
  ): void;
}
