// A view of one or several meshes in 3D: one canvas, a pane for each, all turned together.
//
// Geometry comes as GLB. Its own materials are names without looks, which render black without an environment, so
// every part gets a material of its own here, and there are lights that follow the eye.

import {
    AmbientLight,
    Box3,
    Box3Helper,
    BufferGeometry,
    Color,
    DirectionalLight,
    DoubleSide,
    Float32BufferAttribute,
    Group,
    LineBasicMaterial,
    LineSegments,
    Mesh,
    MeshBasicMaterial,
    MeshLambertMaterial,
    PerspectiveCamera,
    Scene,
    Vector3,
    WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

const DARK = new Color(0x10202c);
const NORMALS_MOST = 60000; // lines; beyond, every second, third ... vertex has one

/** Parts are told apart by hue: golden-angle steps from the page's own blue, at one lightness. */
const partColour = (number) => new Color().setHSL((0.56 + number * 0.381966) % 1, 0.3, 0.56);

const loader = new GLTFLoader();

/** The triangles of a GLB file as a group; an error says what the server said. */
async function load(url) {
    const response = await fetch(url);
    if (!response.ok) {
        const answer = await response.json().catch(() => null);
        throw new Error(answer?.error?.message ?? `the server says ${response.status}`);
    }
    const gltf = await loader.parseAsync(await response.arrayBuffer(), "");
    return gltf.scene;
}

/** Gives every material of a mesh a look. The meshes, each with its place in the file. */
function dress(root) {
    const materials = new Map();
    const meshes = [];
    root.updateMatrixWorld(true);
    root.traverse((object) => object.isMesh && meshes.push({ mesh: object, matrix: object.matrixWorld.clone() }));
    for (const { mesh } of meshes) {
        const key = mesh.material.name || mesh.material.uuid;
        if (!materials.has(key))
            materials.set(key, new MeshLambertMaterial({ color: partColour(materials.size), side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }));
        mesh.material = materials.get(key);
    }
    return meshes;
}

function wires(meshes) {
    const group = new Group();
    const material = new MeshBasicMaterial({ wireframe: true, transparent: true, opacity: 0.55 });
    for (const { mesh, matrix } of meshes) {
        const lines = new Mesh(mesh.geometry, material);
        lines.matrixAutoUpdate = false;
        lines.matrix.copy(matrix);
        group.add(lines);
    }
    return group;
}

function normals(meshes, length, colour) {
    const total = meshes.reduce((sum, { mesh }) => sum + mesh.geometry.attributes.position.count, 0);
    const step = Math.ceil(total / NORMALS_MOST) || 1;
    const points = [];
    const from = new Vector3();
    const to = new Vector3();
    for (const { mesh, matrix } of meshes) {
        const { position, normal } = mesh.geometry.attributes;
        for (let i = 0; normal && i < position.count; i += step) {
            from.fromBufferAttribute(position, i).applyMatrix4(matrix);
            to.fromBufferAttribute(normal, i).transformDirection(matrix).multiplyScalar(length).add(from);
            points.push(from.x, from.y, from.z, to.x, to.y, to.z);
        }
    }
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
    return new LineSegments(geometry, new LineBasicMaterial({ color: colour }));
}

/** The greatest distance of a vertex from a point. */
function reach(meshes, centre) {
    const at = new Vector3();
    let square = 0;
    for (const { mesh, matrix } of meshes) {
        const { position } = mesh.geometry.attributes;
        for (let i = 0; i < position.count; i++) square = Math.max(square, at.fromBufferAttribute(position, i).applyMatrix4(matrix).distanceToSquared(centre));
    }
    return Math.sqrt(square);
}

/** A mesh in a pane: moved and scaled so that it fits the unit sphere, whatever its size. */
class Pane {
    constructor(element) {
        this.element = element;
        this.scene = new Scene();
        this.stage = new Group();
        this.scene.add(this.stage, new AmbientLight(0xffffff, 0.9));
        this.extras = {};
    }

    async show(url) {
        const root = await load(url);
        this.meshes = dress(root);
        this.box = new Box3().setFromObject(root);
        if (this.box.isEmpty()) throw new Error("it has no triangles that can be drawn");
        const centre = this.box.getCenter(new Vector3());
        this.radius = reach(this.meshes, centre) || 1;
        this.stage.clear();
        this.stage.add(root);
        this.stage.scale.setScalar(1 / this.radius);
        this.stage.position.copy(centre).multiplyScalar(-1 / this.radius);
        this.extras = {};
    }

    /** Puts on what is wanted and takes off the rest; made when first wanted. */
    apply(options, colours) {
        if (!this.meshes) return;
        const make = {
            wireframe: () => wires(this.meshes),
            normals: () => normals(this.meshes, this.radius / 25, colours.normal),
            bounds: () => new Box3Helper(this.box, colours.bounds),
        };
        for (const [name, build] of Object.entries(make)) {
            if (options[name] && !this.extras[name]) this.stage.add((this.extras[name] = build()));
            if (this.extras[name]) this.extras[name].visible = options[name];
        }
        // On a surface lines are dark in any theme; alone they are seen against the page.
        this.extras.wireframe?.children[0].material.color.copy(options.surface ? DARK : colours.ink);
        for (const { mesh } of this.meshes) mesh.visible = options.surface;
    }
}

/** Whether this browser can draw in 3D at all. */
export function canDraw() {
    try {
        return Boolean(document.createElement("canvas").getContext("webgl2"));
    } catch {
        return false;
    }
}

/**
 * Draws into `canvas` what lies under each of `elements`, in the same place: [{ element, url }]. Gives back
 * { ready, set(options), home(), dispose() }; `ready` is an array of promises, one for each, rejected where one cannot be
 * drawn. Options: surface, wireframe, normals, bounds.
 */
export function view3d(canvas, places, options) {
    const renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    const camera = new PerspectiveCamera(30, 1, 0.01, 100);
    const controls = new OrbitControls(camera, canvas);
    const panes = places.map((place) => new Pane(place.element));
    const sun = new DirectionalLight(0xffffff, 2.4);
    const fill = new DirectionalLight(0xffffff, 0.7);
    let scheduled = false;
    let current = { ...options };

    // The page's colours are names for light and dark; only a computed colour is one that can be read.
    const colours = () => {
        const read = (name) => {
            canvas.style.color = `var(${name})`;
            return new Color().setStyle(getComputedStyle(canvas).color);
        };
        return { ink: read("--ink"), normal: read("--k-vertex-like"), bounds: read("--accent") };
    };

    function draw() {
        scheduled = false;
        const frame = canvas.getBoundingClientRect();
        const ratio = Math.min(window.devicePixelRatio, 2);
        if (!frame.width || !frame.height) return;
        renderer.setPixelRatio(ratio);
        renderer.setSize(frame.width, frame.height, false);
        renderer.setScissorTest(true);
        for (const pane of panes) {
            const spot = pane.element.getBoundingClientRect();
            const left = spot.left - frame.left;
            const bottom = frame.bottom - spot.bottom;
            if (!spot.width || !spot.height) continue;
            // Narrow panes look through a wider angle, so that the unit sphere fits in both directions.
            camera.aspect = spot.width / spot.height;
            camera.fov = camera.aspect >= 1 ? 30 : (2 * Math.atan(Math.tan(Math.PI / 12) / camera.aspect) * 180) / Math.PI;
            camera.updateProjectionMatrix();
            pane.scene.add(sun, fill);
            sun.position.copy(camera.position).add(new Vector3(0.6, 1.2, 0).applyQuaternion(camera.quaternion).multiplyScalar(3));
            fill.position.copy(camera.position).add(new Vector3(-2, -0.6, 0).applyQuaternion(camera.quaternion).multiplyScalar(3));
            renderer.setViewport(left, bottom, spot.width, spot.height);
            renderer.setScissor(left, bottom, spot.width, spot.height);
            renderer.render(pane.scene, camera);
        }
    }

    /** Drawn when something changed, not sixty times a second. */
    function redraw() {
        if (scheduled) return;
        scheduled = true;
        requestAnimationFrame(draw);
    }

    function home() {
        camera.position.set(1.8, 1.22, 3.5);
        controls.target.set(0, 0, 0);
        controls.update();
        redraw();
    }

    function set(changes) {
        current = { ...current, ...changes };
        const palette = colours();
        for (const pane of panes) pane.apply(current, palette);
        redraw();
    }

    controls.minDistance = 0.2;
    controls.maxDistance = 40;
    controls.addEventListener("change", redraw);
    controls.listenToKeyEvents(canvas);
    const resized = new ResizeObserver(redraw);
    resized.observe(canvas);
    home();
    const ready = places.map(({ url }, i) =>
        panes[i].show(url).then(() => {
            panes[i].apply(current, colours());
            redraw();
        }),
    );
    return {
        ready,
        set,
        home,
        dispose() {
            resized.disconnect();
            controls.dispose();
            renderer.dispose();
        },
    };
}
