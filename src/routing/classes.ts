import { GROUP } from '#api/names.ts';
import type { Ingress, IngressClass } from '#api/networking.ts';

/** `spec.controller` of the IngressClasses that are ours. */
export const CONTROLLER_NAME = `${GROUP}/ingress`;
/** The class before there were IngressClasses; a class of that name must be there all the same. */
const OLD_ANNOTATION = 'kubernetes.io/ingress.class';
const DEFAULT_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';

/** Whether an Ingress is ours to serve, by the classes that there are. */
export function isOursBy(classes: readonly IngressClass[]): (ingress: Ingress) => boolean {
  const ours = classes.filter(({ spec }) => spec?.controller === CONTROLLER_NAME);
  const names = new Set(ours.map(({ metadata }) => metadata.name));
  const takesRest = ours.some(({ metadata }) => metadata.annotations?.[DEFAULT_ANNOTATION] === 'true');
  return ({ metadata, spec }) => {
    const name = spec?.ingressClassName ?? metadata.annotations?.[OLD_ANNOTATION];
    return name === undefined ? takesRest : names.has(name);
  };
}
