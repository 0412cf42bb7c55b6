import { GROUP } from '#api/names.ts';
import type { Ingress, IngressClass } from '#api/networking.ts';

/** `spec.controller` of our IngressClasses. */
export const CONTROLLER_NAME = `${GROUP}/ingress`;
/** Class annotation from before IngressClasses existed. The IngressClass that it names must exist. */
const OLD_ANNOTATION = 'kubernetes.io/ingress.class';
const DEFAULT_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';

const isDefault = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[DEFAULT_ANNOTATION] === 'true';

/** Returns a function that decides whether an Ingress is ours, by the existing classes. */
export function isOursBy(classes: readonly IngressClass[]): (ingress: Ingress) => boolean {
  const ours = classes.filter(({ spec }) => spec?.controller === CONTROLLER_NAME);
  const names = new Set(ours.map(({ metadata }) => metadata.name));
  const takesRest = ours.some(isDefault);
  return (ingress) => {
    const name = classOf(ingress);
    return name === undefined ? takesRest : names.has(name);
  };
}

const classOf = ({ metadata, spec }: Ingress): string | undefined =>
  spec?.ingressClassName ?? metadata.annotations?.[OLD_ANNOTATION];

/** Whether an Ingress names no class and no class is the default. No controller serves it then. */
export const lacksClass = (classes: readonly IngressClass[], ingress: Ingress): boolean =>
  classOf(ingress) === undefined && !classes.some(isDefault);
