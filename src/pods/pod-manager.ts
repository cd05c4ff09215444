import {
  annotationOf,
  configHashAnnotation,
  configMirrorAnnotation,
  fullNameOf,
  isMirrorPod,
  isStaticPod,
  nameOf,
  namespaceOf,
  uidOf,
} from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { PodLedger } from '../admission/pod-ledger.ts';

/** A pod, its mirror pod, and which of the two was passed (R50). */
export interface PodAndMirror {
  readonly pod: Pod | undefined;
  readonly mirror: Pod | undefined;
  readonly wasMirror: boolean;
}

/** True when the name and namespace are equal and the mirror pod has the static pod's hash (R34). */
export function isMirrorPodOf(mirror: Pod, pod: Pod): boolean {
  if (nameOf(pod) !== nameOf(mirror) || namespaceOf(pod) !== namespaceOf(mirror)) return false;
  const hash = annotationOf(mirror, configMirrorAnnotation);
  return hash !== undefined && hash === annotationOf(pod, configHashAnnotation);
}

/**
 * PodManager holds the desired pods, and alone decides whether a pod is still desired (R27). Pods (from the API and static) and mirror pods
 * are stored separately (R28); full names and the translation of UIDs connect them (R29…R31).
 *
 * Follows kubelet `pod.Manager`.
 */
export class PodManager {
  readonly #pods = new Map<string, Pod>();
  readonly #podsByFullName = new Map<string, Pod>();
  readonly #mirrors = new Map<string, Pod>();
  readonly #mirrorsByFullName = new Map<string, Pod>();
  /** The static pods, and the pods with an active deadline. */
  readonly #static = new Map<string, Pod>();
  readonly #withDeadline = new Map<string, Pod>();
  /** The sum of the pods' resource requests. */
  readonly ledger: PodLedger = new PodLedger();
  /** Mirror pod UID → static pod UID. */
  readonly #translation = new Map<string, string>();

  addPod(pod: Pod): void {
    this.updatePod(pod);
  }

  updatePod(pod: Pod): void {
    const [uid, fullName] = [uidOf(pod), fullNameOf(pod)];
    if (isMirrorPod(pod)) {
      this.#mirrors.set(uid, pod);
      this.#mirrorsByFullName.set(fullName, pod);
      const real = this.#podsByFullName.get(fullName);
      if (real) this.#translation.set(uid, uidOf(real));
      return;
    }
    this.#setPod(uid, pod);
    this.#podsByFullName.set(fullName, pod);
    const mirror = this.#mirrorsByFullName.get(fullName);
    if (mirror) this.#translation.set(uidOf(mirror), uid);
  }

  #setPod(uid: string, pod: Pod): void {
    this.#pods.set(uid, pod);
    this.ledger.set(pod);
    if (isStaticPod(pod)) this.#static.set(uid, pod);
    else this.#static.delete(uid);
    if (pod.spec?.activeDeadlineSeconds !== undefined) this.#withDeadline.set(uid, pod);
    else this.#withDeadline.delete(uid);
  }

  /** Removes a pod, and its full name even when a newer UID has taken it (R33). */
  removePod(pod: Pod): void {
    const [uid, fullName] = [uidOf(pod), fullNameOf(pod)];
    if (isMirrorPod(pod)) {
      this.#mirrors.delete(uid);
      this.#mirrorsByFullName.delete(fullName);
      this.#translation.delete(uid);
      return;
    }
    this.#pods.delete(uid);
    this.ledger.delete(uid);
    this.#static.delete(uid);
    this.#withDeadline.delete(uid);
    this.#podsByFullName.delete(fullName);
  }

  /** Replaces all pods. */
  setPods(pods: readonly Pod[]): void {
    this.#pods.clear();
    this.ledger.clear();
    this.#static.clear();
    this.#withDeadline.clear();
    this.#podsByFullName.clear();
    this.#mirrors.clear();
    this.#mirrorsByFullName.clear();
    this.#translation.clear();
    for (const pod of pods) this.updatePod(pod);
  }

  /** The pods without mirror pods. */
  getPods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  /** True while there is a pod with an active deadline. */
  get hasDeadlines(): boolean {
    return this.#withDeadline.size > 0;
  }

  /** The pods with an active deadline. */
  podsWithDeadline(): Iterable<Pod> {
    return this.#withDeadline.values();
  }

  /** The pods, the mirror pods, and the full names of mirror pods without a static pod (R32). */
  getPodsAndMirrorPods(): {
    readonly pods: readonly Pod[];
    readonly mirrors: readonly Pod[];
    readonly orphanedMirrorFullNames: readonly string[];
  } {
    return {
      pods: this.getPods(),
      mirrors: [...this.#mirrors.values()],
      orphanedMirrorFullNames: [...this.#mirrorsByFullName.keys()].filter(
        (fullName) => !this.#podsByFullName.has(fullName),
      ),
    };
  }

  getPodByUID(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  getPodByName(namespace: string, name: string): Pod | undefined {
    return this.getPodByFullName(`${name}_${namespace}`);
  }

  getPodByFullName(fullName: string): Pod | undefined {
    return this.#podsByFullName.get(fullName);
  }

  getMirrorPodByPod(pod: Pod): Pod | undefined {
    return this.#mirrorsByFullName.get(fullNameOf(pod));
  }

  getPodByMirrorPod(mirror: Pod): Pod | undefined {
    return this.#podsByFullName.get(fullNameOf(mirror));
  }

  /** Returns the passed object as it is, and its counterpart by full name. */
  getPodAndMirrorPod(pod: Pod): PodAndMirror {
    if (isMirrorPod(pod)) return { pod: this.getPodByMirrorPod(pod), mirror: pod, wasMirror: true };
    return { pod, mirror: this.getMirrorPodByPod(pod), wasMirror: false };
  }

  /** Translates the UID of a mirror pod to that of its static pod; returns any other UID unchanged (R30). */
  translatePodUID(uid: string): string {
    return this.#translation.get(uid) ?? uid;
  }

  /** The UIDs of static pods mapped to those of their mirror pods (`''` while there is none), and the reverse (R31). */
  getUIDTranslations(): {
    readonly podToMirror: ReadonlyMap<string, string>;
    readonly mirrorToPod: ReadonlyMap<string, string>;
  } {
    const podToMirror = new Map<string, string>();
    for (const uid of this.#static.keys()) podToMirror.set(uid, '');
    for (const [mirror, pod] of this.#translation) podToMirror.set(pod, mirror);
    return { podToMirror, mirrorToPod: new Map(this.#translation) };
  }

  /** Every static pod with the mirror pod of its full name, if there is one. */
  getStaticPodToMirrorPodMap(): ReadonlyMap<Pod, Pod | undefined> {
    const map = new Map<Pod, Pod | undefined>();
    for (const pod of this.#static.values()) map.set(pod, this.getMirrorPodByPod(pod));
    return map;
  }
}
